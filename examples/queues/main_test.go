package main

func Example() {
	main()
	// Output:
	// priorities: [fire alarm first mail second mail tidy up]
	// strict order: [password reset login code export]
	// weights: about three of four are paying: true
}
