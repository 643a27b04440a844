package main

func Example() {
	main()
	// Output:
	// resize cat.png, trace 4bf92f35
	// resize, attempt 1, ended with error <nil>
	// notify about cat.png, trace 4bf92f35
	// notify, attempt 1, ended with error <nil>
	// notify about cover.png, trace 4bf92f35
	// cover, attempt 1, ended with error <nil>
}
