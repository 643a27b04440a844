package cyclone_test

import (
	"fmt"

	"github.com/cyclone-queue/cyclone"
)

// Invoice is the input of the step below.
type Invoice struct {
	Email      string
	TotalCents int
}

// ValidatedInvoice is its output.
type ValidatedInvoice struct{ Invoice Invoice }

var ValidateInvoice = cyclone.NewStep("validate_invoice",
	func(ctx cyclone.Context, in Invoice) (ValidatedInvoice, error) {
		if in.Email == "" {
			return ValidatedInvoice{}, cyclone.Permanent(fmt.Errorf("email is required"))
		}
		if in.TotalCents <= 0 {
			return ValidatedInvoice{}, cyclone.Permanent(fmt.Errorf("total must be positive"))
		}
		return ValidatedInvoice{Invoice: in}, nil
	})

// Bad input is discarded at once: another attempt would not change it.
func ExamplePermanent() {
	fmt.Println(outcome(ValidateInvoice, 1, Invoice{TotalCents: 100}))
	fmt.Println(outcome(ValidateInvoice, 1, Invoice{Email: "ada@example.com"}))
	fmt.Println(outcome(ValidateInvoice, 1, Invoice{Email: "ada@example.com", TotalCents: 100}))
	// Output:
	// discard: email is required
	// discard: total must be positive
	// complete
}
