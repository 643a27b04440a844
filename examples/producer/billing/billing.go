// Package billing declares what its steps are called and what they take. Processes
// that enqueue and processes that work import it; only the latter have handlers.
package billing

import (
	"time"

	"github.com/cyclone-queue/cyclone"
)

// Invoice is the input of SendInvoice.
type Invoice struct {
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
}

// SendInvoice mails an invoice.
var SendInvoice = cyclone.DeclareAction[Invoice]("send_invoice", cyclone.WithRetention(time.Minute))
