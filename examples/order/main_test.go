package main

func Example() {
	main()
	// Output:
	// o-1: attempt 1: the bank is away
	// o-1: reserved the lamp
	// o-1: attempt 2: the bank is away
	// o-1: the run has failed at charge: bank is away
	//      charge   discarded
	//      reserve  completed
	//      approval cancelled
	//      ship     cancelled
	//      notify   cancelled
	// o-1: charged 49.90
	// o-1: shipped from shelf 7b, approved by Ada
	// o-1: dear customer, follow your parcel as t-o-1
	//      charge   completed
	//      reserve  completed
	//      approval completed
	//      ship     completed
	//      notify   completed
	// o-2: charged 9000.00
	// o-2: reserved the piano
	// o-2: dear customer, we could not approve it; r-o-2 will be refunded
	//      charge   completed
	//      reserve  completed
	//      approval discarded
	//      ship     cancelled
	//      notify   completed
}
