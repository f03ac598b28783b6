/** Whether a text is a valid skill name: letters, digits and single hyphens between them, none in upper case. */
function isName(text: string): boolean {
  return /^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u.test(text) && text === text.toLowerCase() && [...text].length <= 64;
}

/** The most similar valid name; null where the text has neither letters nor digits. */
function nameFrom(text: string): string | null {
  const parts =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  let name = '';
  for (const part of parts) {
    const longer = name === '' ? [...part].slice(0, 64).join('') : `${name}-${part}`;
    if ([...longer].length > 64) break;
    name = longer;
  }
  return name === '' ? null : name;
}

/** The name to write for a skill in the folder `id` whose own name is `name` or missing. */
export function nameToWrite(name: string, id: string): string {
  const folder = id.normalize('NFKC');
  return isName(folder) ? folder : (nameFrom(name) ?? nameFrom(folder) ?? 'my-skill');
}

/** The cure that makes name and folder equal and valid. */
export function namingCure(name: string, id: string): string {
  const wanted = nameToWrite(name, id);
  if (wanted !== id.normalize('NFKC')) return `write \`name: ${wanted}\` and rename the folder to \`${wanted}\``;
  return `write \`name: ${wanted}\`${isName(name) && name !== wanted ? `, or rename the folder to \`${name}\`` : ''}`;
}
