package kafkatest

import (
	"fmt"
	"regexp"
)

// maxNameLength is the longest topic name.
const maxNameLength = 249

var legalName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// objection is why Kafka refuses something, in its words; empty if it does not.
type objection string

// invalidName tells what Kafka has against a topic name (org.apache.kafka.common.internals.Topic.validate).
func invalidName(name string) objection {
	switch {
	case name == "":
		return "Topic name is invalid: the empty string is not allowed, it"
	case name == "." || name == "..":
		return objection(fmt.Sprintf("Topic name is invalid: '%s' is not allowed", name))
	case len(name) > maxNameLength:
		return objection(fmt.Sprintf("Topic name is invalid: the length of '%s' is longer than the max allowed length %d", name, maxNameLength))
	case !legalName.MatchString(name):
		return objection(fmt.Sprintf("Topic name is invalid: '%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name))
	}
	return ""
}
