package main

func Example() {
	main()
	// Output:
	// Bob owes 99.00
	// Ada owes 12.00
}
