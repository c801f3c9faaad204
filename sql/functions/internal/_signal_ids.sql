create or replace function loom._signal_ids(p_request jsonb) returns text[]
language plpgsql immutable parallel safe
as $$
declare
  v_ids jsonb := coalesce(nullif(p_request -> 'signal_ids', 'null'), '[]');
begin
  perform loom._check_strings(v_ids, 'signal_ids');
  if jsonb_array_length(v_ids) > 200 then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'signal_ids', 'limit', 200, 'value', jsonb_array_length(v_ids))::text,
      hint = 'Send the signals in several requests.';
  end if;
  return array(select loom._identifier(jsonb_build_object('signal_ids', id), 'signal_ids')
    from jsonb_array_elements_text(v_ids) as id);
end
$$;
comment on function loom._signal_ids(jsonb) is 'The ids of the signals that a delta was made from, 200 at most. LM001, LM406.';
