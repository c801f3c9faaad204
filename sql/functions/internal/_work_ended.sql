create or replace function loom._work_ended(p_kind text, p_at timestamptz) returns jsonb
language plpgsql stable
as $$
begin
  return jsonb_build_object(
    'claims', coalesce((
      select total from loom.work_count where kind = p_kind and outcome = 'claimed'), 0),
    'last_claim_seconds', (
      select extract(epoch from p_at - last_at) from loom.work_count where kind = p_kind and outcome = 'claimed'),
    'last_end_seconds', (
      select extract(epoch from p_at - max(last_at)) from loom.work_count
      where kind = p_kind and outcome not in ('claimed', 'tokens')),
    'builds', coalesce((
      select jsonb_object_agg(outcome, total) from loom.work_count
      where kind = p_kind and outcome not in ('claimed', 'tokens')), '{}'));
end
$$;
comment on function loom._work_ended(text, timestamptz) is
  'How often work of a kind was claimed and how it ended, since the installation began.';
