create or replace function loom._any_term(p_terms tsquery[]) returns tsquery
language plpgsql immutable strict parallel safe
as $$
declare
  v_any tsquery := p_terms[1];
  v_term tsquery;
begin
  foreach v_term in array p_terms[2:] loop
    v_any := v_any || v_term;
  end loop;
  return v_any;
end
$$;
comment on function loom._any_term(tsquery[]) is 'Matches what has any of the terms.';
