/** `{{ name }}`, with the backslashes before it. */
const VARIABLE = /(\\{0,2})\{\{[ \t]*([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\}\}/g;

/** The names that the text asks for, each once, with the offset of the first. */
export function variablesIn(body: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { 1: escape = '', 2: name = '', index } of body.matchAll(VARIABLE)) {
    if (escape !== '\\' && !found.has(name)) found.set(name, index + escape.length);
  }
  return found;
}

/**
 * Puts the values in, byte for byte, and never looks at them again. `\{{name}}` is written as `{{name}}`, `\\{{name}}` as a backslash and the value;
 * everything else stays as it is.
 */
export function render(body: string, values: ReadonlyMap<string, string>): string {
  return body.replace(VARIABLE, (whole, escape: string, name: string) => {
    if (escape === '\\') return whole.slice(1);
    return (escape === '' ? '' : '\\') + (values.get(name) ?? '');
  });
}
