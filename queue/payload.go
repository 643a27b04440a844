package queue

// Encode returns v as the client's codec stores it, and the codec's id. It
// returns [ErrPayloadTooLarge] or [ErrPayloadRefused] for what Decode would
// refuse.
func (c *Client) Encode(v any) (codec uint8, payload []byte, err error) { return c.codecs.encode(v) }

// Decode decodes a stored input or output into the value that v points to.
func (c *Client) Decode(codec uint8, payload []byte, v any) error {
	return c.codecs.decode(codec, payload, v)
}
