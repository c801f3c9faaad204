create or replace function loom._search_text_asked(p_request jsonb) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_query text := loom._bounded_text(p_request, 'query', 2000);
begin
  if v_query is null or v_query = '' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'query', 'reason', case when v_query = '' then 'must not be empty' else 'is required' end)::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return v_query;
end
$$;
comment on function loom._search_text_asked(jsonb) is 'The question of a search. LM001 when missing or empty, LM406 over 2,000 characters.';
