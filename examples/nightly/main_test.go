package main

func Example() {
	main()
	// Output:
	// acme: 400 rows
	// globex: 600 rows
	// umbrella: 800 rows
	// 1800 rows in all, 1 parts are missing
	// export-initech: discarded after 2 attempts: its database is away
}
