package main

import "strings"

// payloadBytes is the encoded size of every job's input. Cyclone encodes a
// string of that length less two bytes to exactly this size.
const payloadBytes = 100

func payload() string { return strings.Repeat("x", payloadBytes-2) }

// floorBody is what the floor stores: as many bytes as Cyclone's codec makes.
func floorBody() string { return strings.Repeat("x", payloadBytes) }
