package main

func Example() {
	main()
	// Output:
	// [warning] convert attempt 1: XYZ: no exchange rate (error)
	// [error] convert attempt 2: XYZ: no exchange rate (error)
	// [warning] convert attempt 1: panic: assignment to entry in nil map (panic) with a stack
	// [error] convert attempt 2: panic: assignment to entry in nil map (panic) with a stack
}
