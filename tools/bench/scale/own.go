package scale

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

const ourModules = "github.com/karpenter-linode/karpenter-linode/modules/"

// decorators are the functions of this repository through which Karpenter core writes to the cluster and to the log. The functions that
// they call are core's own work.
var decorators = []string{
	ourModules + "operator/karpentercore.creates.",
	ourModules + "operator/karpentercore.startsSink.",
}

// own is the processor time that a CPU profile shows for functions of this repository
// and for the functions that they call. Garbage collection in the background does not
// count.
func own(cpu io.Reader) (time.Duration, error) {
	parsed, err := profile.Parse(cpu)
	if err != nil {
		return 0, fmt.Errorf("the profile of the processor: %w", err)
	}
	at := -1
	for i, kind := range parsed.SampleType {
		if kind.Type == "cpu" && kind.Unit == "nanoseconds" {
			at = i
		}
	}
	if at < 0 {
		return 0, fmt.Errorf("the profile of the processor has no times, only %v", parsed.SampleType)
	}
	var sum time.Duration
	for _, sample := range parsed.Sample {
		if ours(sample) {
			sum += time.Duration(sample.Value[at])
		}
	}
	return sum, nil
}

func ours(sample *profile.Sample) bool {
	for _, location := range sample.Location {
		for _, line := range location.Line {
			if name := line.Function.Name; strings.HasPrefix(name, ourModules) && !decorates(name) {
				return true
			}
		}
	}
	return false
}

func decorates(function string) bool {
	for _, decorator := range decorators {
		if strings.HasPrefix(function, decorator) {
			return true
		}
	}
	return false
}
