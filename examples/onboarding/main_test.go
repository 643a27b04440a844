package main

func Example() {
	main()
	// Output:
	// account 7 is created
	// the mail server is away
	// the mail server is away
	// done: message welcome-7, confirmed true
	// account 8 is created
	// account 8 is closed
	// done: message welcome-8, confirmed false
	// failed: account_id, name, and email are required
	// no mailbox for cleo@nowhere.example
	// no mailbox for cleo@nowhere.example
	// invited by letter-10
}
