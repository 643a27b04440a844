package main

func Example() {
	main()
	// Output:
	// render for 1s: attempt 1 begins
	// interrupted: save what can be saved
	// after the stop: ready, interruptions: 1
	// render for 1s: attempt 1 begins
	// completed
}
