package main

func Example() {
	main()
	// Output:
	// existing: the same run: true
	// reject: refused, and told who holds the key: true
	// replace: the same run, with a new input: true
	// request key: one run for two requests: true
	// what ran: report until August
	// the key is free again: true
	// once an hour: nothing new: true
}
