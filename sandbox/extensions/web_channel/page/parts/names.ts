/** Names as they stand in a text, separated by commas. */
export function namesIn(text: string): readonly string[] {
  return text.split(',').flatMap((part) => part.trim() || []);
}
