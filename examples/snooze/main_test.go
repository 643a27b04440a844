package main

func Example() {
	main()
	// Output:
	// attempt 1: rate limited, snoozing
	// attempt 1: rate limited, snoozing
	// attempt 1: synced ada
}
