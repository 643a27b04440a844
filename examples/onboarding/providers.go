package main

import (
	"context"
	"errors"
	"fmt"
)

// account is what the provider of accounts returns.
type account struct {
	ID    string `json:"id"`
	Email string `json:"email"`
}

// accounts stands for a service that keeps accounts.
type accounts struct{}

func (*accounts) Create(_ context.Context, in onboardingInput) (account, error) {
	fmt.Println("account", in.AccountID, "is created")
	return account{ID: in.AccountID, Email: in.Email}, nil
}

func (*accounts) Close(_ context.Context, a account) error {
	fmt.Println("account", a.ID, "is closed")
	return nil
}

// emails stands for a mail server that is away at first.
type emails struct{ outage int }

func (e *emails) SendWelcome(_ context.Context, to account) (string, error) {
	if e.outage--; e.outage >= 0 {
		fmt.Println("the mail server is away")
		return "", errors.New("mail server is away")
	}
	return "welcome-" + to.ID, nil
}

// Invite finds no such mailbox.
func (e *emails) Invite(_ context.Context, to account) (string, error) {
	fmt.Println("no mailbox for", to.Email)
	return "", errors.New("no such mailbox")
}

// letters stands for a printer of letters.
type letters struct{}

func (*letters) Print(_ context.Context, to account) (string, error) {
	return "letter-" + to.ID, nil
}
