package terminal

// Colour is a way to set text off, named by what it says.
type Colour string

// The colours. Plain is none.
const (
	Plain  Colour = ""
	Bold   Colour = "1"
	Dim    Colour = "2"
	Bad    Colour = "31" // red
	Good   Colour = "32" // green
	Warn   Colour = "33" // yellow
	Busy   Colour = "36" // cyan
	Wait   Colour = "34" // blue
	Accent Colour = "1;36"
	Alarm  Colour = "1;31"
)

// Painter colours text, or leaves it alone. The zero value leaves it alone.
type Painter struct{ On bool }

// Paint returns text in a colour.
func (p Painter) Paint(c Colour, text string) string {
	if !p.On || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
