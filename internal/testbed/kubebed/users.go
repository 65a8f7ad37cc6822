//go:build unix

package kubebed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// tokenLifetime is how long the token of ServiceAccount holds: longer than any bed lives.
const tokenLifetime = 7 * 24 * time.Hour

// User is a way into the API server under one identity. What it may do is up to RBAC.
type User struct {
	Config     *rest.Config
	Kubeconfig string // path of a file
}

// User makes a user with a client certificate. It has no permission but those of its groups and of the bindings that
// name it ("system:masters" is the group of admins).
func (c *Cluster) User(name string, groups ...string) (User, error) {
	c.users.Lock()
	defer c.users.Unlock()
	user, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: c.admin.QPS, Burst: c.admin.Burst})
	if err != nil {
		return User{}, fmt.Errorf("add user %q: %w", name, err)
	}
	text, err := user.KubeConfig()
	if err != nil {
		return User{}, fmt.Errorf("make kubeconfig of user %q: %w", name, err)
	}
	path := c.kubeconfigPath("user", name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return User{}, fmt.Errorf("write kubeconfig of user %q: %w", name, err)
	}
	return User{Config: user.Config(), Kubeconfig: path}, nil
}

// ServiceAccount returns the way in as an existing ServiceAccount, by a token that holds for a week, as a Pod has it.
func (c *Cluster) ServiceAccount(ctx context.Context, namespace, name string) (User, error) {
	clients, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return User{}, fmt.Errorf("make kubernetes client: %w", err)
	}
	seconds := int64(tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	token, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return User{}, fmt.Errorf("request token of service account %s/%s: %w", namespace, name, err)
	}
	user := User{Config: c.Config(), Kubeconfig: c.kubeconfigPath("serviceaccount", namespace, name)}
	user.Config.TLSClientConfig = rest.TLSClientConfig{CAData: c.admin.CAData}
	user.Config.BearerToken = token.Status.Token
	if err := writeTokenKubeconfig(user, namespace); err != nil {
		return User{}, fmt.Errorf("write kubeconfig of service account %s/%s: %w", namespace, name, err)
	}
	return user, nil
}

func writeTokenKubeconfig(user User, namespace string) error {
	const name = "bed"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   user.Config.Host,
		CertificateAuthorityData: user.Config.CAData,
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: user.Config.BearerToken}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, user.Kubeconfig)
}

// kubeconfigPath turns the parts of an identity, which may hold any character, into a file name.
func (c *Cluster) kubeconfigPath(parts ...string) string {
	for i, part := range parts {
		parts[i] = strings.NewReplacer("/", "_", ":", "_").Replace(part)
	}
	return filepath.Join(c.Dir(), "kubeconfigs", strings.Join(parts, "."))
}
