// Package lab gives tests of the engine a deployment of their own: a server, a
// client, workers that can be stopped, cut off and crashed, and eyes that look
// at Redis itself rather than through the code under test.
//
// [Each] runs a test on every kind of server, on real ones in real time; [Bubble]
// runs it on the embedded one in a synctest bubble, where hours pass in
// milliseconds.
package lab
