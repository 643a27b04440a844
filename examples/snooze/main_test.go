package main

func Example() {
	main()
	// Output:
	// attempt 1: rate limited, snoozing for 50ms
	// attempt 1: rate limited, snoozing for 50ms
	// attempt 1: synced ada
}
