package simulatedcapl

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// defaultImage is CAPL's default image (util/reconciler/defaults.go).
const defaultImage = "linode/ubuntu22.04"

// account is the Linode API as far as CAPL uses it.
type account struct{ http *linodehttp.Client }

// linodeSpec has the fields of a LinodeMachine that make a Linode.
type linodeSpec struct {
	ProviderID string   `json:"providerID"`
	Region     string   `json:"region"`
	Type       string   `json:"type"`
	Image      string   `json:"image"`
	PrivateIP  *bool    `json:"privateIP"`
	Tags       []string `json:"tags"`
}

// create makes a Linode that is switched off. If a Linode has the label already, create returns this Linode.
func (a account) create(ctx context.Context, label string, spec linodeSpec, tags []string, userData []byte) (api.Instance, error) {
	private := spec.PrivateIP == nil || *spec.PrivateIP
	var made api.Instance
	err := a.http.Send(ctx, http.MethodPost, "/linode/instances", "", map[string]any{
		"label": label, "region": spec.Region, "type": spec.Type, "image": cmp.Or(spec.Image, defaultImage), "private_ip": private,
		"tags": tags, "booted": false, "root_pass": string(uuid.NewUUID()), "interface_generation": "legacy_config",
		"metadata": map[string]string{"user_data": base64.StdEncoding.EncodeToString(userData)},
	}, &made)
	if err == nil || !strings.Contains(err.Error(), "Label must be unique") {
		return made, err
	}
	found, listed := linodehttp.List[api.Instance](ctx, a.http, "/linode/instances", fmt.Sprintf(`{"label": %q}`, label))
	if listed != nil || len(found) == 0 {
		return made, errors.Join(err, listed)
	}
	return found[0], nil
}

// helpNetwork switches on the helper that configures the Linode's network at its boot. Like linodego, it sends the other helpers as well.
func (a account) helpNetwork(ctx context.Context, id int) error {
	configs, err := linodehttp.List[api.InstanceConfig](ctx, a.http, path(id)+"/configs", "")
	if err != nil || len(configs) == 0 {
		return err
	}
	body := map[string]any{"helpers": map[string]bool{
		"network": true, "distro": false, "modules_dep": false, "devtmpfs_automount": false, "updatedb_disabled": false,
	}}
	return a.http.Send(ctx, http.MethodPut, path(id)+"/configs/"+strconv.Itoa(configs[0].ID), "", body, nil)
}

// boot boots a Linode. The API refuses to boot a Linode that runs already. CAPL recognizes this error by a text that the simulator does not
// have, so boot reads the Linode's status instead.
func (a account) boot(ctx context.Context, id int) error {
	err := a.http.Send(ctx, http.MethodPost, path(id)+"/boot", "", map[string]any{}, nil)
	if err == nil {
		return nil
	}
	if found, unread := a.get(ctx, id); unread == nil && found.Status == api.InstanceStatusRunning {
		return nil
	}
	return err
}

func (a account) get(ctx context.Context, id int) (found api.Instance, err error) {
	err = a.http.Send(ctx, http.MethodGet, path(id), "", nil, &found)
	return found, err
}

// remove deletes a Linode. A Linode that does not exist counts as deleted.
func (a account) remove(ctx context.Context, id int) error {
	err := a.http.Send(ctx, http.MethodDelete, path(id), "", nil, nil)
	if linodehttp.IsNotFound(err) {
		return nil
	}
	return err
}

func path(id int) string { return "/linode/instances/" + strconv.Itoa(id) }

// worded returns an answer in linodego's words: [400] [type] reason (errors.go of linodego).
func worded(err error) error {
	answer, is := errors.AsType[*linodehttp.Error](err)
	if !is {
		return err
	}
	var body struct {
		Errors []struct{ Field, Reason string }
	}
	_ = json.Unmarshal([]byte(answer.Body), &body) // a text that is no JSON has no reasons
	var reasons []string
	for _, e := range body.Errors {
		if e.Field != "" {
			e.Reason = "[" + e.Field + "] " + e.Reason
		}
		reasons = append(reasons, e.Reason)
	}
	return fmt.Errorf("[%d] %s", answer.Status, strings.Join(reasons, "; "))
}

// retryable reports whether CAPL tries a request again, and whether the reason is the rate limit, after which it waits longer
// (util.IsRetryableError, retryIfTransient).
func retryable(err error) (again, limited bool) {
	answer, is := errors.AsType[*linodehttp.Error](err)
	if !is {
		return true, false
	}
	limited = answer.Status == http.StatusTooManyRequests
	return limited || answer.Status >= http.StatusInternalServerError || answer.Status == http.StatusRequestTimeout, limited
}
