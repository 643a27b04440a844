package main

func Example() {
	main()
	// Output:
	// attempt 1 fails: nothing of it is written
	// receipt: ada gave bob 2500 cents
	// balances of ada and bob: -2500 2500
}
