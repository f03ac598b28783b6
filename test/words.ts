/** A long list of names, written as a paragraph. */
export const words = (text: string): string[] => text.trim().split(/\s+/u);
