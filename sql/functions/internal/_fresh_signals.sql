create or replace function loom._fresh_signals(
  p_row loom.user_profile, p_signals jsonb, p_at timestamptz, p_dry_run boolean
) returns jsonb
language plpgsql volatile
as $$
declare
  v_ids text[] := array(select distinct signal ->> 'id' from jsonb_array_elements(p_signals) as signal
    where signal ->> 'id' is not null);
  v_known text[] := loom._user_profile_taken(p_row, v_ids, p_at, p_dry_run);
begin
  return coalesce((
    select jsonb_agg(signal order by place)
    from (
      select signal, place, row_number() over (partition by signal ->> 'id' order by place) as telling
      from jsonb_array_elements(p_signals) with ordinality as told (signal, place)
    ) as numbered
    where signal ->> 'id' is null or (telling = 1 and signal ->> 'id' <> all (v_known))), '[]');
end
$$;
comment on function loom._fresh_signals(loom.user_profile, jsonb, timestamptz, boolean) is
  'The signals that a locked profile has not had yet, in their order; they are noted as taken, unless it is a dry run.';
