/**
 * The formats of credentials, by their issuers. Each is matched at the start of a run of token characters; those like
 * `SG.` also before a run that follows a dot.
 */
export const FORMATS = {
  anthropic_key: String.raw`sk-ant-[\w-]{16,}`,
  openrouter_key: String.raw`sk-or-[\w-]{16,}`,
  openai_key: [
    String.raw`sk-(?:proj|svcacct|admin|service|None)-[\w-]{16,}`,
    String.raw`sk-(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}`,
  ].join("|"),
  google_key: String.raw`AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}`,
  xai_key: String.raw`xai-[A-Za-z0-9]{20,}`,
  groq_key: String.raw`gsk_[A-Za-z0-9]{20,}`,
  huggingface_token: String.raw`hf_[A-Za-z0-9]{30,}`,
  aws_access_key_id: String.raw`(?:AKIA|ASIA(?=[A-Z]*\d))[A-Z0-9]{16}(?![\w-])`,
  github_token: String.raw`gh[opsur]_[A-Za-z0-9]{30,}|github_pat_\w{30,}`,
  gitlab_token: String.raw`gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent|oas)-[\w-]{18,}`,
  slack_token: String.raw`xox[abeoprs]-[\w-]{10,}|xapp-\d-[\w-]{20,}`,
  stripe_key: String.raw`[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{20,}`,
  twilio_key: String.raw`SK[0-9a-f]{32}(?![\w-])`,
  sendgrid_key: String.raw`SG\.[\w-]{16,}\.[\w-]{16,}`,
  npm_token: String.raw`npm_[A-Za-z0-9]{30,}`,
  pypi_token: String.raw`pypi-[\w-]{40,}`,
  purser_key: String.raw`psr_(?=\w*\d)\w{12,}`,
  jwt: String.raw`eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){0,3}`,
  /** Those of DigitalOcean, Databricks, Figma, Grafana, Linear, Notion, Sentry, Shopify, Vault and others. */
  service_token: [
    String.raw`(?:figd|lin_api|ntn|r8|glsa|glc|sntrys|sntryu|ddp|pscale_\w{2,5}|lsv2_[ps][tk])_[\w-]{30,}`,
    String.raw`(?:dop_v1_|sbp_|rubygems_|shp(?:at|ca|pa|ss)_|dapi|key-|fc-|e2b_)[0-9a-f]{32,}`,
    String.raw`(?:pplx-|tvly-|nvapi-|sk-lf-|dckr_pat_|ATATT3|sq0[a-z]{3}-|PMAK-|NRAK-)[\w-]{20,}`,
    String.raw`(?:hv[bs]|dp\.[a-z]{2})\.[\w-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{50,}`,
  ].join("|"),
} as const;

/** The kind of a credential, as in its placeholder. */
export type CredentialKind =
  | keyof typeof FORMATS
  | "private_key"
  | "webhook_url"
  | "url_credential"
  | "authorization_header"
  | "cookie"
  | "aws_secret_key"
  | "named_secret"
  | "high_entropy_token";

/** A credential and its position in a text. */
export interface Finding {
  kind: CredentialKind;
  start: number;
  end: number;
}

/** Adds a finding, in any order. */
export type Add = (finding: Finding) => void;
