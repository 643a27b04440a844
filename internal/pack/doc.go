// Package pack reads and writes the small part of MessagePack that Cyclone
// stores itself, looks through foreign payloads before a decoder sees them, and
// seals payloads that nobody else is to read.
//
// Everything read here may be hostile. A declared length is believed only when
// the bytes are there, nothing recurses, and nothing is allocated in proportion
// to a length that was merely declared: five bytes that announce four billion
// elements cost an error and no memory.
//
// The package imports the standard library only. Nothing in it keeps a
// reference to its input, except where a method says that its result aliases it.
package pack
