/** A text of at most about `limit` characters: of a longer one the beginning and the end, where people say what they want. */
export function middleLeftOut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit / 2)} … ${text.slice(-limit / 2)}`;
}
