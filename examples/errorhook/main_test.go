package main

func Example() {
	main()
	// Output:
	// [warning] convert attempt 1: XYZ: no exchange rate (error)
	// [error] convert attempt 2: XYZ: no exchange rate (error)
	// [warning] convert attempt 1: panic: runtime error: index out of range [0] with length 0 (panic) with a stack
	// [error] convert attempt 2: panic: runtime error: index out of range [0] with length 0 (panic) with a stack
}
