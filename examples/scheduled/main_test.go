package main

func Example() {
	main()
	// Unordered output:
	// not any more: expired
	// remind: the phone
	// remind: the kettle
	// the other one is scheduled
	// remind: an early happy new year
}
