/** The text with `[hidden]` for everything that looks like a key, a token or a password. */
export function hideKeys(text: string): string {
  return SECRETS.reduce((safe, [pattern, replacement]) => safe.replace(pattern, replacement), text);
}

const HIDDEN = '[hidden]';

const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[^\s"',;]+/gi, `$1 ${HIDDEN}`],
  // sk-…, sk-ant-…, pk_live_…, ghp_…, gsk_…, xai-…, also partly masked with asterisks as providers quote them
  [/\b(?:sk|pk|rk|ak|gh[pousr]|gsk|xai|hf|glpat|xox[abprs]|r8|nvapi|pplx)[-_][\w*.-]{4,}/gi, HIDDEN],
  [/\bpith_[\w-]{40,}/g, HIDDEN],
  [/\bAIza[\w-]{10,}/g, HIDDEN],
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, HIDDEN],
  [
    /\b((?:x-)?(?:api[-_ ]?key|access[-_ ]?token|token|secret|password|authorization)(?:\s+provided)?["']?\s*[:=]\s*["']?)[^\s"',;&]+/gi,
    `$1${HIDDEN}`,
  ],
  [/(:\/\/)[^/\s@]+@/g, `$1${HIDDEN}@`],
  [/([?&](?:key|token|api_key|access_token|sig|signature)=)[^&\s"']+/gi, `$1${HIDDEN}`],
];
