package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// EnterScreen switches a terminal to another screen without a cursor, and
// LeaveScreen back to the first one, as it was.
const (
	EnterScreen = "\x1b[?1049h\x1b[?25l"
	LeaveScreen = "\x1b[?25h\x1b[?1049l"
)

// Is reports whether a stream is a terminal.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Size returns the columns and rows of a terminal, 80 × 24 when it does not tell.
func Size(stream any) (columns, rows int) {
	if f, ok := stream.(*os.File); ok {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return 80, 24
}

// ReadPassword reads a line from a terminal without showing it.
func ReadPassword(stream io.Reader) (string, error) {
	f, ok := stream.(*os.File)
	if !ok {
		return "", os.ErrInvalid
	}
	b, err := term.ReadPassword(int(f.Fd()))
	return string(b), err
}
