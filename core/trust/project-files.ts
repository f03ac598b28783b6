/** Of a project whose sandbox is trusted: what Pith, its skills and its agents may take from it. */
export const PROJECT_FILES: readonly string[] = [
  'AGENTS.md',
  'CLAUDE.md',
  '.mcp.json',
  '.env',
  'skills',
  ...['.agent', '.agents', '.claude', '.codex', '.cursor', '.kodelet'].map((folder) => `${folder}/skills`),
];
