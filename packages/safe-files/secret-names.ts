import path from 'node:path';

/** The one list of files with keys, passwords or tokens. Agents need approval to read one; commands in a sandbox see it empty. */
const FILES: readonly RegExp[] = [
  /^\.env(?:[._-].*|rc)?$|\.env$/u,
  /^\.(?:npmrc|yarnrc|yarnrc\.yml|pypirc|netrc|git-credentials|pgpass|my\.cnf|htpasswd|dockercfg|terraformrc|s3cfg|boto|vault-token)$/u,
  /^_netrc$/u,
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|ovpn|asc|gpg|age)$/u,
  /^(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|ssh_host_.*_key)$/u,
  /^(?:credentials|secrets?)(?:[._-](?:prod|production|dev|development|stage|staging|test|qa|ci|live|local))?(?:\.(?:json|ya?ml|toml|ini|txt|properties))?$/u,
  /^(?:service[-_]account|client[-_]secret|gcloud|firebase-adminsdk).*\.json$/u,
  /\.(?:tfstate|tfvars)$/u,
  /^(?:kubeconfig|\.kubeconfig|wp-config\.php)$/u,
];
const FOLDERS: readonly RegExp[] = [/^\.(?:ssh|gnupg|aws|azure|kube|docker|password-store)$/u];
/** Public files that look like secret ones. */
const PUBLIC =
  /(?:^|\.)env(?:[._-][\w-]+)*[._-](?:example|sample|template|dist|defaults?)$|^(?:example|sample|template)\.env$|\.pub$|(?:^|[._-])public[._-]?key\.|^(?:ca|cacert|ca-bundle|ca-certificates)\.pem$/u;
/** Suffixes that editors and people add to the name of a backup. */
const KEPT = /(?:~|\.(?:bak|backup|old|orig|save|saved|copy|swp|tmp)|[._-]\d+)+$/u;
/** Names that are secret in one place only. */
const AT_A_PLACE = /^auth\.json$|(?:^|\/)\.[^/]+\/(?:.*\/)?auth\.json$|(?:^|\/)gh\/hosts\.ya?ml$|^etc\/g?shadow-?$/u;

/** True when a file at this path, from a project, a home folder or the root down, may contain secrets. Ignores case. */
export function isSecretFile(names: readonly string[]): boolean {
  const plain = names.map((name) => name.normalize('NFKC').toLowerCase());
  if (plain.slice(0, -1).some((name) => FOLDERS.some((test) => test.test(name)))) return true;
  const named = plain.at(-1) ?? '';
  const kept = named.replace(KEPT, '');
  if (PUBLIC.test(kept)) return false;
  const spellings = [named, kept, kept.replace(/^\.(?=.)/u, '')]; // editors begin a backup's name with a dot
  return spellings.some((name) => FILES.some((test) => test.test(name))) || AT_A_PLACE.test([...plain.slice(0, -1), kept].join('/'));
}

/** Places below a home folder where programs keep keys, passwords, tokens and sessions. */
const PLACES_OF_HOME: readonly string[] = [
  ...(
    '.pith .ssh .gnupg .aws .azure .kube .docker .password-store .mozilla .thunderbird .fly .vault-token .claude .codex .gemini .terraform.d .pki .oci .bluemix ' +
    '.config/configstore .electrum .bitcoin .ethereum .android .lastpass .1password .putty .subversion/auth .purple .irssi .weechat .zoom .minikube .ansible .chef'
  ).split(' '),
  ...(
    '.netrc .npmrc .yarnrc .yarnrc.yml .pypirc .git-credentials .pgpass .my.cnf .mylogin.cnf .dockercfg .terraformrc .s3cfg .boto .claude.json .databrickscfg .snowsql ' +
    '.bash_history .zsh_history .zhistory .python_history .node_repl_history .psql_history .mysql_history .sqlite_history .rediscli_history .lesshst .viminfo ' +
    '.Xauthority .ICEauthority .msmtprc .mbsyncrc .fetchmailrc .offlineimaprc .wgetrc .curlrc .htpasswd .rclone.conf .envrc .profile.local'
  ).split(' '),
  ...(
    '.cargo/credentials .cargo/credentials.toml .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .gem/credentials .bundle/config .sbt/.credentials ' +
    '.ivy2/.credentials .nuget/NuGet .cache/huggingface/token .cache/gcloud .cache/gh .cache/copilot .cache/mozilla .cache/google-chrome .cache/chromium ' +
    '.local/share/keyrings .local/share/kwalletd .local/share/opencode .local/share/fish/fish_history .local/share/python_keyring .local/share/TelegramDesktop ' +
    '.local/share/gnupg .local/state/gh .var/app snap Library/Keychains'
  ).split(' '),
  ...(
    'BraveSoftware Bitwarden Code/User Cursor Keybase Signal Slack composer chromium containers discord doctl filezilla gcloud gh git/credentials github-copilot ' +
    'glab-cli google-chrome heroku helm hub kwalletd microsoft-edge netlify NuGet op opera pip rclone remmina sops stripe vercel vivaldi wrangler .wrangler yarn'
  )
    .split(' ')
    .map((name) => `.config/${name}`),
];

/** Absolute places below `home` where programs keep keys, passwords, tokens and sessions, existing or not. */
export function secretPlaces(home: string): readonly string[] {
  return PLACES_OF_HOME.map((name) => path.join(home, name));
}
