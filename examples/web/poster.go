package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// posters is the queue of the application's steps.
const posters = "posters"

// Poster is the input of RenderPoster.
type Poster struct {
	Text string `json:"text"`
}

// errJam is what the printer fails with now and then.
var errJam = errors.New("paper jam")

// RenderPoster takes a moment. A text with a question mark jams the printer once; a
// text without a letter cannot be printed.
var RenderPoster = cyclone.NewStep("render_poster",
	func(ctx cyclone.Context, in Poster) (string, error) {
		select {
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		switch {
		case strings.ToUpper(in.Text) == strings.ToLower(in.Text):
			return "", cyclone.Permanent(errors.New("nothing to print"))
		case strings.Contains(in.Text, "?") && ctx.Attempt() == 1:
			return "", errJam
		}
		return "★ " + strings.ToUpper(in.Text) + " ★", nil
	},
	cyclone.WithQueue(posters), cyclone.WithTimeout(30*time.Second))
