package kafka

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

const (
	purposeSeeRates = "to see replication throttles"
	purposeSetRates = "to set the replication throttle"
)

// everyBroker is the name of the config resource that holds the cluster-wide defaults.
const everyBroker = ""

// maxAtOnce bounds how many brokers are asked for the same at the same time.
const maxAtOnce = 16

// rateKeys are the two rates in Kafka's order of names.
var rateKeys = []string{topic.FollowerThrottledRate, topic.LeaderThrottledRate}

// ThrottleRates reads the dynamic throttle rates: the cluster-wide default as the first broker that answers shows it, and
// each broker's own through that broker, since no other knows them. Fenced brokers are not asked; they and those that do
// not answer are named in the result. The error is for want of the permission, or when no broker answers.
func (c *Client) ThrottleRates(ctx context.Context, brokers []topic.Broker) (topic.ThrottleRates, error) {
	answers := make([]ratesAnswer, len(brokers))
	var asked sync.WaitGroup
	slots := make(chan struct{}, maxAtOnce)
	for i, b := range brokers {
		if b.Fenced {
			continue
		}
		asked.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answers[i] = c.rates(ctx, b.ID)
		})
	}
	asked.Wait()
	return gatherRates(brokers, answers)
}

// ratesAnswer is what one broker says; the zero value is that of a broker that was not asked.
type ratesAnswer struct {
	answered     bool
	whole, alone topic.Rates
	fault        *fault.Fault
}

func gatherRates(brokers []topic.Broker, answers []ratesAnswer) (topic.ThrottleRates, error) {
	rates := topic.ThrottleRates{Brokers: map[int32]topic.Rates{}}
	var failure *fault.Fault
	known := false
	for i, a := range answers {
		switch {
		case a.fault != nil && notAuthorized(a.fault):
			return topic.ThrottleRates{}, a.fault
		case !a.answered:
			rates.Unread = append(rates.Unread, brokers[i].ID)
			if failure == nil {
				failure = a.fault
			}
			continue
		case !known:
			rates.Default, known = a.whole, true
		}
		if a.alone.Any() {
			rates.Brokers[brokers[i].ID] = a.alone
		}
	}
	slices.Sort(rates.Unread)
	if known {
		return rates, nil
	}
	if failure == nil {
		failure = unanswered(errUnknownBroker) // there is none in service
	}
	return topic.ThrottleRates{}, failure
}

// rates asks one broker for the cluster-wide rates and its own.
func (c *Client) rates(ctx context.Context, broker int32) ratesAnswer {
	own := strconv.Itoa(int(broker))
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range []string{everyBroker, own} {
		req.Resources = append(req.Resources, kmsg.DescribeConfigsRequestResource{
			ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: name, ConfigNames: rateKeys,
		})
	}
	answer, err := c.read(ctx, broker, 0, req)
	if err != nil {
		return ratesAnswer{fault: fault.As(err)}
	}
	resp, ok := answer.(*kmsg.DescribeConfigsResponse)
	if !ok {
		return ratesAnswer{fault: wrongAnswer(req)}
	}
	rows := map[string]*kmsg.DescribeConfigsResponseResource{}
	for i := range resp.Resources {
		rows[resp.Resources[i].ResourceName] = &resp.Resources[i]
	}
	for _, name := range []string{everyBroker, own} {
		row := rows[name]
		if row == nil {
			return ratesAnswer{fault: missingRow(describeThrottle, own)}
		}
		c.noteGap(describeThrottle, purposeSeeRates, row.ErrorCode)
		if row.ErrorCode != 0 {
			return ratesAnswer{fault: refusal(describeThrottle, own, row.ErrorCode, row.ErrorMessage)}
		}
	}
	return ratesAnswer{
		answered: true,
		whole:    ratesOf(rows[everyBroker], kmsg.ConfigSourceDynamicDefaultBrokerConfig),
		alone:    ratesOf(rows[own], kmsg.ConfigSourceDynamicBrokerConfig),
	}
}

// ratesOf gives the rates that are set at one place. A broker shows as its own what it has from elsewhere, too.
func ratesOf(row *kmsg.DescribeConfigsResponseResource, place kmsg.ConfigSource) topic.Rates {
	var rates topic.Rates
	for i := range row.Configs {
		e := &row.Configs[i]
		if e.Source != place || e.Value == nil {
			continue
		}
		n, err := strconv.ParseInt(*e.Value, 10, 64)
		if err != nil {
			continue
		}
		switch e.Name {
		case topic.LeaderThrottledRate:
			rates.Leader = topic.RateOf(n)
		case topic.FollowerThrottledRate:
			rates.Follower = topic.RateOf(n)
		}
	}
	return rates
}

// SetDefaultRates asks one broker to set the cluster-wide default of each rate that is set in r; the other one stays as
// it is. Brokers that are away have it when they come back.
func (c *Client) SetDefaultRates(ctx context.Context, broker int32, r topic.Rates) error {
	return c.alterRates(ctx, broker, r, setThrottle, kmsg.IncrementalAlterConfigOpSet)
}

// DeleteDefaultRates asks one broker to delete the cluster-wide default of each rate that is set in r, whatever its value
// is by now.
func (c *Client) DeleteDefaultRates(ctx context.Context, broker int32, r topic.Rates) error {
	return c.alterRates(ctx, broker, r, deleteThrottle, kmsg.IncrementalAlterConfigOpDelete)
}

// defaultRates are an item of their own: there is one of them.
type defaultRates struct{}

// Records is the number of the controller's records for both rates.
func (defaultRates) Records() int { return len(rateKeys) }

func (c *Client) alterRates(ctx context.Context, broker int32, r topic.Rates, a action, op kmsg.IncrementalAlterConfigOp) error {
	if !r.Any() {
		return nil
	}
	row := kmsg.NewIncrementalAlterConfigsRequestResource()
	row.ResourceType, row.ResourceName = kmsg.ConfigResourceTypeBroker, everyBroker
	for i, rate := range []topic.Rate{r.Follower, r.Leader} {
		if !rate.Set {
			continue
		}
		cfg := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: rateKeys[i], Op: op}
		if op == kmsg.IncrementalAlterConfigOpSet {
			cfg.Value = new(strconv.FormatInt(rate.BytesPerSecond, 10))
		}
		row.Configs = append(row.Configs, cfg)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, row)
	rows := newRows(a, []defaultRates{{}}, func(defaultRates) string { return everyBroker })
	answer := c.write(ctx, broker, rows, req, nil)
	if resp, ok := answer.(*kmsg.IncrementalAlterConfigsResponse); ok {
		takeAltered(resp, rows)
		for i := range resp.Resources {
			c.noteGap(a, purposeSetRates, resp.Resources[i].ErrorCode)
		}
	}
	return rows.finish()[everyBroker]
}
