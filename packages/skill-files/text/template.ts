/** Sentences of the template that a person has to replace. */
export const PLACEHOLDERS = {
  description: 'Use when somebody asks for it, in the words that they would use.',
  body: 'What the agent must know that it would not know by itself, as short as it can be said.',
} as const;

/** The SKILL.md of a new skill. Its examples are comments, since a search would match their words. */
export function templateOf(id: string, description: string | undefined): string {
  const title = id.replaceAll('-', ' ').replace(/^./u, (letter) => letter.toUpperCase());
  const says = description?.trim().replace(/\s+/g, ' ') || `Says in one sentence what ${title} does. ${PLACEHOLDERS.description}`;
  return `---
name: ${id}
description: ${JSON.stringify(says)}
version: 0.1.0
# Requests that this skill is for, in the words of those who ask:
# examples:
#   - a request
---
# ${title}

${PLACEHOLDERS.body}

## Steps

1. First do this.
2. Then check that it worked.

Move what is seldom needed into files under references/ and name them here, so that they are read only then.
`;
}
