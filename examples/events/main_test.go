package main

func Example() {
	main()
	// Output:
	// enqueued → ready ·
	// claimed → running ·
	// snoozed → snoozed ·
	// claimed → running ·
	// failed → retrying card reader offline
	// claimed → running ·
	// completed → completed ·
	// seen in the process as well: true
}
