package main

func Example() {
	main()
	// Output:
	// flaky: attempt 1 of 4
	// flaky: attempt 2 of 4
	// flaky: attempt 3 of 4
	// flaky: completed
	//
	// busy: attempt 1 of 4
	// busy: attempt 2 of 4
	// busy: completed
	//
	// gone: attempt 1 of 4
	// gone: failed after 1 attempts: 410 Gone (permanent)
	//
	// down: attempt 1 of 4
	// down: attempt 2 of 4
	// down: attempt 3 of 4
	// down: attempt 4 of 4
	// down: failed after 4 attempts: connection refused (error)
}
