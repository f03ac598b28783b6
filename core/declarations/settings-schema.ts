import { z } from 'zod';
import { once } from '@pith/promises';
import { ENABLED } from '../trust/index.ts';

/**
 * The strict shape of `pith.yaml` and `~/.pith/config.yaml`. Made on first use: a start without either file never needs it.
 * Defaults are here for the documentation; `DEFAULT_SETTINGS` holds the same values.
 */
export const settingsSchema = once(() => {
  const modelRef = z.string().min(1);
  const count = (byDefault: number) => z.int().min(1).default(byDefault);
  return z.strictObject({
    default_agent: z.string().min(1).default('orchestrator').describe('The agent that answers when none is named.'),
    models: z
      .strictObject({
        default: modelRef
          .optional()
          .describe('The model of agents that name none, as provider/model. Without it Pith takes the best it can reach.'),
        fast: modelRef.optional().describe('The model of the alias `fast`; without it, that of `default`.'),
        standard: modelRef.optional().describe('The model of the alias `standard`; without it, that of `default`.'),
        thinking: modelRef.optional().describe('The model of the alias `thinking`; without it, that of `default`.'),
      })
      .default({})
      .describe('The models of the aliases, as provider/model.'),
    prices: z
      .record(
        z.string(),
        z.strictObject({
          input: z.number().min(0).describe('Dollars for a million tokens that the model is sent.'),
          output: z.number().min(0).describe('Dollars for a million tokens that it answers.'),
        }),
      )
      .default({})
      .describe('What models cost, by provider/model. Without the price of a model no cost is shown, and no limit of cost can be kept.'),
    effort: z
      .enum(['off', 'low', 'medium', 'high'])
      .optional()
      .describe('How much models think before they answer, where an agent does not say it. Without it, as their providers have set it.'),
    providers: z
      .record(
        z.string(),
        z.looseObject({
          base_url: z.string().min(1).optional().describe('The address of the API, such as http://127.0.0.1:11434/v1.'),
          api_key_env: z
            .string()
            .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, not a key')
            .optional()
            .describe('The name of the environment variable with the key. Keys themselves are never in settings.'),
        }),
      )
      .default({})
      .describe(
        'Settings of model providers, by the prefix in front of the slash. Further keys are checked by the extension that offers the prefix.',
      ),
    agents: z
      .strictObject({
        paths: z
          .array(z.string().min(1))
          .default([])
          .describe('More folders of agents, relative to the folder of the settings file; ~/ is the home folder.'),
      })
      .default({ paths: [] })
      .describe('Where agents are found beside the sandbox.'),
    approvals: z
      .strictObject({
        tools: z
          .array(z.string().min(1))
          .default([])
          .describe(
            'Tools whose every call needs approval, beside those that ask for it themselves: extension ids, extension/tool or "*".',
          ),
      })
      .default({ tools: [] })
      .describe('What a person is asked before it is done.'),
    data_dir: z
      .string()
      .min(1)
      .optional()
      .describe('Where state is kept; `data` in the sandbox without it. Relative to the folder of the settings file.'),
    admins: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'Ids of the users who may do what is kept for administrators: pin saved skills, grant limits and lanes, have agents change Pith. Where it is empty, the user `local` may.',
      ),
    extensions_sandbox: z
      .enum(['auto', 'off'])
      .default('auto')
      .describe(
        'auto: processes of extensions run in bubblewrap where it works, and see only what their manifests ask for; off: they run without.',
      ),
    extensions: z
      .record(
        z.string(),
        z
          .looseObject({
            enabled: z
              .boolean()
              .optional()
              .meta({ ...ENABLED })
              .describe('false switches the extension or agent off.'),
            secrets: z
              .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a secret, not its value'))
              .optional()
              .describe('Names of more secrets that the extension may ask for.'),
            isolation: z
              .enum(['in_process', 'process'])
              .optional()
              .meta({ safeguard: true, narrowest: 'process' })
              .describe('in_process lets an extension that did not come with Pith run inside the kernel.'),
            memory_mb: z
              .int()
              .min(128)
              .optional()
              .describe(
                'How much memory its process and all that it starts may use, in MB; 512 without it. Half of it is the limit of its heap.',
              ),
          })
          .meta({ ...ENABLED, narrowest: { enabled: false } }),
      )
      .default({})
      .describe('Settings of extensions and agents, by id. Further keys are the extension’s own config, and it checks them.'),
    quotas: z
      .strictObject({
        data_mb: count(1024).describe(
          'How large the data folder of an extension may be, in MB. A process whose folder is larger is ended.',
        ),
        keys: count(100_000).describe('How many values an extension may keep by key.'),
        key_values_mb: count(64).describe('How large all these values of an extension may be, with their keys, in MB.'),
        log_mb: count(10).describe('How large the log may grow before a new file is begun, in MB.'),
        logs: count(5).describe('How many files of the log are kept, with the one that is written.'),
      })
      .default({ data_mb: 1024, keys: 100_000, key_values_mb: 64, log_mb: 10, logs: 5 })
      .describe('How much extensions and the log may keep on disk.'),
    skills: z
      .record(z.string(), z.unknown())
      .default({})
      .meta({ safeguard: true, narrowest: { enabled: false } })
      .describe('Settings of skills, checked by the extension that provides them.'),
  });
});

/** The values in a settings file, the environment or flags: everything may be left out. */
export type SettingsInput = z.input<ReturnType<typeof settingsSchema>>;

/** The merged values of all layers. */
export type SettingsValues = z.output<ReturnType<typeof settingsSchema>>;
