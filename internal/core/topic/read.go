package topic

// Ask names a declared topic and the config keys somebody owns in it.
type Ask struct {
	Name string
	Keys []string
}

// Read is the answer of one broker about one asked topic: exactly one of Topic, Unknown and Err is set.
type Read struct {
	Topic *Topic
	// Unknown: UNKNOWN_TOPIC_OR_PARTITION for a lookup by name.
	Unknown bool
	// Err is why this topic alone could not be read, a *fault.Fault; for example it is not allowed.
	Err error
}
