package queue

import (
	"encoding/json"
	"fmt"
)

// show returns a payload as operators see it. What cannot be decoded is shown as
// bytes only.
func (s *codecs) show(id uint8, payload []byte) Payload {
	p := Payload{Bytes: payload}
	codec := s.read[id]
	switch {
	case codec != nil:
		p.Codec = codec.Name()
	case id == codecNone && len(payload) == 0:
		return p
	default:
		p.Codec = fmt.Sprintf("codec %d", id)
		return p
	}
	if id == codecJSON && codec.(jsonCodec).check(payload) == nil && json.Valid(payload) {
		p.JSON = payload
		return p
	}
	var v any
	if s.decode(id, payload, &v) != nil {
		return p
	}
	if text, err := json.Marshal(v); err == nil {
		p.JSON = text
	}
	return p
}
