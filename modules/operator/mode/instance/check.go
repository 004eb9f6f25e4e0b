package instance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// probeToken has the form of a kubeadm token. It is for user data that no Linode boots with.
const probeToken = "abcdef.0123456789abcdef" //nolint:gosec // not a credential: the example of Kubernetes' documentation

// Check finds out whether nodes of a class could join. It renders the user data of a node and checks its Linode, as a launch does, and
// compares the Linode with the cloud controller manager's flags. It makes no token, and its reads of the Linode API are remembered.
func (b *Backend) Check(ctx context.Context, class *v1alpha1.LinodeNodeClass) status.Finding {
	if class.Status.KubernetesVersion == "" {
		class = class.DeepCopy()
		if found, err := b.cfg.Joined.Cluster(ctx); err == nil {
			class.Status.KubernetesVersion = found.Version
		}
	}
	if err := b.allowed(class); err != nil {
		return finding(err)
	}
	how, err := bootstrap.TypeOf(string(class.Spec.BootstrapType()))
	if err != nil {
		return finding(renderProblem(err))
	}
	in, err := b.inputs(ctx, class, how)
	if err != nil {
		return finding(err)
	}
	if how.Token == bootstrap.NodeToken {
		in.Token = probeToken
	}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
	l := cloudprovider.Launch{NodeClaim: claim, NodeClass: class, Labels: cloudprovider.LabelsOf(nil, b.cfg.Cluster.Region)}
	generation := b.generation(ctx, class.Spec)
	if in.Node, err = b.nodeOfClaim(b.cfg.Cluster.nodeName(claim.Name), l, how); err != nil {
		return finding(err)
	}
	in.Node.Network = addressed(class.Spec, generation)
	data, err := render(how, in)
	if err != nil {
		return finding(err)
	}
	if p := unjoinable(class, how); p != nil {
		return finding(p)
	}
	spec := b.specOfClass(class, how, instances.GenerationLegacy)
	spec.Claimant, spec.InstanceType, spec.UserData = claims.Claimant{Name: claim.Name}, "g6-standard-1", data
	if err := spec.Validate(); err != nil {
		return finding(specProblem(err))
	}
	beside := b.beside(ctx, class, generation, b.tags(l))
	if how.Missing != nil && beside.Status != metav1.ConditionFalse {
		if missing := how.Missing(in.UserData); len(missing) > 0 {
			return status.Finding{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonContractIncomplete, Message: fmt.Sprintf(
				"the user data of spec.bootstrap.userDataSecretRef uses neither %s nor the variables that it consists of; without them nodes join "+
					"without the labels, taints and kubelet settings that pods were planned with",
				strings.Join(missing, ", nor "))}
		}
	}
	return beside
}

// allowed returns the problem of a class that names an object that the administrator does not allow.
func (b *Backend) allowed(class *v1alpha1.LinodeNodeClass) error {
	image := imageOf(class)
	if class.Spec.ImageSelector != nil && len(class.Status.Images) == 0 {
		image = ""
	}
	if refused := b.cfg.Allowed.Check(class.Spec, image); refused != nil {
		return &problem{reason: v1alpha1.ReasonNotAllowed, field: refused.Field, text: refused.Text}
	}
	return nil
}

// unjoinable returns the problem of a class whose nodes boot a public image and whose way to join installs no Kubernetes. No public image
// contains Kubernetes. The image of a selector counts once it is found.
func unjoinable(class *v1alpha1.LinodeNodeClass, how bootstrap.Type) error {
	settings := ptr.Deref(class.Spec.Bootstrap, v1alpha1.Bootstrap{})
	image := imageOf(class)
	if how.UserData || how.Installs(settings.InstallerURL) || len(settings.PreJoinCommands) > 0 ||
		!strings.HasPrefix(image, v1alpha1.PublicImagePrefix) || class.Spec.ImageSelector != nil && len(class.Status.Images) == 0 {
		return nil
	}
	return &problem{reason: v1alpha1.ReasonImageUnsuitable, field: "spec.image", text: fmt.Sprintf(
		"%q is a public image, which contains neither %s nor a kubelet, and the class installs none; set an image that contains them, "+
			"or install them in spec.bootstrap.preJoinCommands", image, how.Name)}
}

func finding(err error) status.Finding {
	p, ok := errors.AsType[*problem](err)
	if !ok {
		return status.Finding{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCheckFailed, Message: err.Error()}
	}
	found := status.Finding{Status: metav1.ConditionFalse, Reason: p.reason, Message: p.Error()}
	if p.unknown {
		found.Status = metav1.ConditionUnknown
	}
	return found
}

// specFields maps fields of the Spec to fields of the class, if their names differ.
var specFields = []struct{ spec, class string }{
	{"Spec.UserData", "spec.bootstrap"}, {"Spec.Storage.BootMB", "spec.osDisk"}, {"Spec.Storage.Data", "spec.dataDisks"},
	{"Spec.Storage.SwapMB", "spec.swapSize"}, {"Spec.Storage", "spec.osDisk"}, {"Spec.Network", "spec.interfaces"},
}

// classField returns the field of the class from which a field of the Spec comes. Example: spec.tags for Spec.Tags[2].
func classField(field string) string {
	for _, f := range specFields {
		if strings.HasPrefix(field, f.spec) {
			return f.class
		}
	}
	name, isSpec := strings.CutPrefix(field, "Spec.")
	if !isSpec || name == "" {
		return field
	}
	if end := strings.IndexAny(name, ".["); end >= 0 {
		name = name[:end]
	}
	return "spec." + strings.ToLower(name[:1]) + name[1:]
}

func specProblem(err error) error {
	e, ok := errors.AsType[*claims.Error](err)
	if !ok {
		return err
	}
	return &problem{reason: v1alpha1.ReasonBootstrapInvalid, field: classField(e.Field),
		text: fmt.Sprintf("%s; correct it in the class", e.Err)}
}
