import { type Hit, batches, type Scanner, type ScanSeverity } from './scan-finding.ts';

const ADDRESS = /\b(?:https?|wss?|ftp):\/\/(?:[^\s/@"'`<>()[\]]{1,80}@)?(\[[0-9a-fA-F:.]{2,45}\]|[\p{L}\p{N}.-]{1,253})/giu;

/** Known to everybody who writes skills; a name below one of them counts too. */
const NEUTRAL = wordsOf(`
  localhost example.com example.org example.net test example invalid local internal github.com githubusercontent.com github.io
  gitlab.com bitbucket.org agentskills.io modelcontextprotocol.io npmjs.com npmjs.org nodejs.org pypi.org pythonhosted.org
  python.org readthedocs.io crates.io docs.rs rust-lang.org go.dev golang.org pkg.go.dev maven.org sonatype.com rubygems.org
  packagist.org mozilla.org w3.org ietf.org rfc-editor.org whatwg.org schema.org json-schema.org unicode.org owasp.org
  wikipedia.org stackoverflow.com apache.org gnu.org debian.org ubuntu.com kernel.org docker.com kubernetes.io google.com
  google.dev googleapis.com gstatic.com microsoft.com apple.com amazon.com cloudflare.com jsdelivr.net unpkg.com openai.com
  anthropic.com claude.com huggingface.co astral.sh typescriptlang.org react.dev creativecommons.org
`);
/** Where long addresses get short ones. */
export const SHORTENERS = wordsOf(`
  bit.ly tinyurl.com t.co goo.gl is.gd ow.ly buff.ly cutt.ly rb.gy shorturl.at tiny.cc s.id t.ly rebrand.ly
`);
/** Where anybody puts texts and files. */
export const PASTE_SITES = wordsOf(`
  pastebin.com paste.ee hastebin.com ghostbin.com rentry.co rentry.org glot.io telegra.ph justpaste.it privatebin.net
  pastes.io paste.rs p.ip.fi write.as cl1p.net dpaste.com dpaste.org ix.io sprunge.us termbin.com controlc.com
  0x0.st transfer.sh file.io gofile.io anonfiles.com catbox.moe temp.sh bashupload.com
`);
/** Where whatever is sent is received for anybody. */
export const CATCHERS = wordsOf(`
  webhook.site requestbin.com requestbin.net pipedream.net hookbin.com beeceptor.com interact.sh oast.fun oast.pro oast.site
  burpcollaborator.net oastify.com canarytokens.com ngrok.io ngrok.app ngrok-free.app trycloudflare.com loca.lt serveo.net
  localhost.run requestcatcher.com oast.live oast.me oast.online interactsh.com ngrok.dev ngrok-free.dev webhook-test.com
  typedwebhook.tools mockbin.org postb.in pipedream.com dnslog.cn ceye.io tunnelmole.net
`);

interface Known {
  readonly severity: ScanSeverity | null;
  readonly what: string;
}

const KNOWN: ReadonlyMap<string, Known> = new Map([
  ...known(NEUTRAL, null, ''),
  ...known(SHORTENERS, 'medium', 'a shortened address, which hides where it leads'),
  ...known(PASTE_SITES, 'medium', 'a place where anybody puts texts and files'),
  ...known(CATCHERS, 'medium', 'a place that receives what is sent to it for anybody'),
]);
const MESSAGING = /discord(?:app)?\.com\/api\/webhooks\/|api\.telegram\.org\/bot|hooks\.slack\.com\/services\/[A-Z0-9]{6}/i;

/** A name that looks like an address, and is never asked. */
const NAMESPACE = /\bxmlns(?::[\w-]{1,40})?\s{0,4}=\s{0,4}["'][^"']{0,200}["']/gi;

/** Addresses that are not those that everybody knows, each host once a file. */
export const unknownHosts: Scanner = function* ({ lines }) {
  const seen = new Set<string>();
  for (const batch of batches(lines)) {
    for (const { number, text: written } of batch) {
      if (!written.includes('://')) continue;
      const text = written.includes('xmlns') ? written.replace(NAMESPACE, '') : written;
      if (MESSAGING.test(text) && !seen.has('messaging')) {
        seen.add('messaging');
        yield { severity: 'medium', code: 'unknown_host', line: number, message: 'names an address that posts messages to a conversation' };
      }
      for (const match of text.matchAll(ADDRESS)) {
        const host = match[1]!.toLowerCase().replace(/\.+$/, '');
        if (seen.has(host)) continue;
        seen.add(host);
        const hit = hitFor(host);
        if (hit !== null) yield { ...hit, line: number };
      }
    }
    yield null;
  }
};

function hitFor(host: string): Omit<Hit, 'line'> | null {
  const about = (severity: ScanSeverity, what: string) => ({ severity, code: 'unknown_host', message: `names ${what}: ${host}` });
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(host)) return isLocal(host) ? null : about('medium', 'a bare address instead of a host');
  if (host.startsWith('[')) return /^\[(?:::1|f[cd].*|fe80.*)\]$/.test(host) ? null : about('medium', 'a bare address instead of a host');
  if (/^(?:0x[0-9a-f]+|\d{6,})$/.test(host)) return about('medium', 'a bare address instead of a host');
  if (!host.includes('.')) return null; // a name of the local network, or a placeholder
  for (let name = host; name !== ''; name = name.includes('.') ? name.slice(name.indexOf('.') + 1) : '') {
    const known = KNOWN.get(name);
    if (known !== undefined) return known.severity === null ? null : about(known.severity, known.what);
  }
  if (/^xn--|\.xn--|[^\x20-\x7e]/.test(host)) return about('medium', 'a host whose letters may look like others');
  if (host.endsWith('.onion')) return about('medium', 'a hidden host');
  return about('low', 'a host that is not among the well-known ones');
}

/** Whether everybody who writes skills knows that host. */
export function isWellKnown(host: string): boolean {
  return hitFor(host.toLowerCase()) === null;
}

function isLocal(address: string): boolean {
  return /^(?:127\.|10\.|0\.0\.0\.0$|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|169\.254\.169\.254$)/.test(
    address,
  );
}

function known(hosts: readonly string[], severity: ScanSeverity | null, what: string): (readonly [string, Known])[] {
  return hosts.map((host) => [host, { severity, what }]);
}

function wordsOf(list: string): readonly string[] {
  return list.trim().split(/\s+/);
}
