export interface Skill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly state: string;
  readonly tokens: number;
  readonly version?: string;
  readonly reason?: string;
  readonly tags?: readonly string[];
}

export const changesSkills = ({ data }: { readonly data: Readonly<Record<string, unknown>> }): boolean =>
  data['kind'] === 'skills' || data['kind'] === 'proposals';
