package main

func Example() {
	main()
	// Output:
	// welcomed Ada under the key <run>:create-account
	// Bob: failed: email is required
}
